import type { About } from "../answers";
import { notShownInWords } from "./not_shown";

/** What the log holds and no view shows; nothing where there is nothing. */
export function NotShown({ about }: { about: About }) {
  const words = notShownInWords(about.not_shown ?? []);
  return words ? <p class="quiet not-shown">{words}</p> : null;
}
