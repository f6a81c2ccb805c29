import { useState } from "preact/hooks";
import { Button } from "./Button";

const SHOWN_MS = 1500;

/** Puts a text on the clipboard, and says whether that went well. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [said, setSaid] = useState("Copy");
  const copy = async () => {
    setSaid((await onClipboard(text)) ? "Copied" : "Could not copy");
    setTimeout(() => setSaid("Copy"), SHOWN_MS);
  };
  return (
    <Button onClick={() => void copy()} title={`Copy ${what}`}>
      <span aria-live="polite">{said}</span>
      <span class="unseen"> {what}</span>
    </Button>
  );
}

async function onClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return byHand(text); // a page over http from another machine, or in a frame, has no clipboard
  }
}

function byHand(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
