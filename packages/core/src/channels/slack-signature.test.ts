import { expect, test } from "vitest";
import { isSignedBySlack } from "./slack-signature.ts";

/** Source: docs.slack.dev, "Verifying requests from Slack". */
const secret = "8f742231b10e8888abcd99yyyzzz85a5";
const timestamp = "1531420618";
const body =
  "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar" +
  "&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=" +
  "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN" +
  "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
const signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
const at = (seconds: number) => (Number(timestamp) + seconds) * 1_000_000;

test("accepts the documented request for five minutes before and after its time", () => {
  for (const seconds of [-300, 0, 300])
    expect(isSignedBySlack(secret, { timestamp, signature, body }, at(seconds))).toBe(true);
  for (const seconds of [-301, 301])
    expect(isSignedBySlack(secret, { timestamp, signature, body }, at(seconds))).toBe(false);
});

test("refuses another body, another time, another secret, and texts that are no signature or no time", () => {
  const given = { timestamp, signature, body };
  for (const wrong of [
    { ...given, body: `${body}&` },
    { ...given, timestamp: "1531420619" },
    { ...given, timestamp: "1531420618.0" },
    { ...given, timestamp: "undefined" },
    { ...given, signature: signature.toUpperCase() },
    { ...given, signature: "" },
    { ...given, signature: signature.replace("v0", "v1") },
  ])
    expect(isSignedBySlack(secret, wrong, at(0))).toBe(false);
  expect(isSignedBySlack("another", given, at(0))).toBe(false);
});
