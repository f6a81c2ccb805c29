import type { Shown, View } from "../../views";

function Verdict({ about }: Shown) {
  return <h1>{about.run}</h1>;
}

export const view: View = { name: "verdict", title: "Verdict", place: 10, appears: () => true, Body: Verdict };
