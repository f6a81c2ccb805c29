import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useAnswer } from "./answer_hooks";

const place = document.createElement("div");
let waiting: { url: string; signal: AbortSignal; reply: (value: unknown) => void }[] = [];

beforeEach(() => {
  waiting = [];
  vi.stubGlobal("fetch", (url: string, { signal }: { signal: AbortSignal }) => new Promise((resolve) => {
    waiting.push({ url, signal, reply: (value) => resolve(new Response(JSON.stringify(value))) });
  }));
});
afterEach(() => {
  render(null, place);
  vi.unstubAllGlobals();
});

function Shows({ tag, version }: { tag: string; version: string }) {
  const { answer } = useAnswer<number>("points", { tag }, version);
  return <>{answer === null ? "nothing" : String(answer)}</>;
}

async function show(tag: string, version: string): Promise<void> {
  await act(async () => render(<Shows tag={tag} version={version} />, place));
}

function shows(text: string): Promise<void> {
  return vi.waitFor(() => expect(place.textContent).toBe(text));
}

test("a question under way survives new versions, and the last of them is asked for afterwards", async () => {
  await show("loss", "1");
  await show("loss", "2");
  await show("loss", "3");
  expect(waiting).toHaveLength(1);

  waiting[0]!.reply(10);
  await shows("10");
  expect(waiting).toHaveLength(2);
  waiting[1]!.reply(30);

  await shows("30");
  expect(waiting).toHaveLength(2);
});

test("the old answer stays while the next version is asked for", async () => {
  await show("loss", "1");
  waiting[0]!.reply(10);
  await shows("10");
  await show("loss", "2");
  expect(place.textContent).toBe("10");
});

test("another question stops the one under way, and its late answer is not shown", async () => {
  await show("loss", "1");
  await show("accuracy", "1");
  expect(waiting[0]!.signal.aborted).toBe(true);

  waiting[0]!.reply(10);
  waiting[1]!.reply(0.9);

  await shows("0.9");
});
