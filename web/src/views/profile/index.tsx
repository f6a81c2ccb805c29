import type { Shown, View } from "../../views";
import { ProfileBody } from "./Body";

function Profile({ run, chosen }: Shown) {
  return <ProfileBody run={run} chosen={chosen} />;
}

export const view: View = { name: "profile", title: "Profile", place: 75, appears: (about) => Boolean(about.has.profile), Body: Profile };
