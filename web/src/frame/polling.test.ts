import { expect, test } from "vitest";
import { Away, Locked, Refusal } from "../asking";
import { nextPollState, QUIET } from "./polling";

const still = { version: "1-10", growing: false };
const growing = { version: "1-10", growing: true };

test("a run at rest asks for nothing twice", () => {
  expect(nextPollState(QUIET, still, "1-10")).toBe(QUIET);
});

test("what was written changes the version, and the same word changes nothing", () => {
  const beat = nextPollState(QUIET, growing, "1-10");

  expect(beat.version).toBe("1-10");
  expect(nextPollState(beat, growing, "1-10")).toBe(beat);
  expect(nextPollState(beat, { version: "1-20", growing: true }, "1-10").version).toBe("1-20");
});

test("a server that comes back has everything asked again, once", () => {
  const away = nextPollState(QUIET, new Away(), "1-10");
  const back = nextPollState(away, still, "1-10");

  expect(away).toMatchObject({ away: true, version: "" });
  expect(nextPollState(away, new Away(), "1-10")).toBe(away);
  expect(back.away).toBe(false);
  expect(back.version).not.toBe(away.version);
  expect(nextPollState(back, still, "1-10")).toBe(back);
});

test("a run that was moved away is gone, not the server", () => {
  expect(nextPollState(QUIET, new Refusal("There is no run."), "1-10")).toMatchObject({ gone: true, away: false });
});

test("a server with another token is not a run that is gone", () => {
  const locked = nextPollState(QUIET, new Locked(), "1-10");

  expect(locked).toMatchObject({ locked: true, gone: false, away: false });
  expect(nextPollState(locked, still, "1-10")).toMatchObject({ locked: false, returns: 1 });
});

test("how much of a large log has been read is told while it is read", () => {
  const reading = nextPollState(QUIET, { ...still, read_share: 0.25 }, "1-10");

  expect(reading).toMatchObject({ read: 0.25, version: "" });
  expect(nextPollState(reading, still, "1-10").read).toBe(null);
});
