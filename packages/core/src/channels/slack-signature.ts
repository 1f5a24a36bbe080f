import { createHmac, timingSafeEqual } from "node:crypto";
import { limits } from "@countersign/contract";
import { us_per_second } from "../time.ts";

/** `v0=` and the hex HMAC-SHA256 of `v0:<timestamp>:<body>`. */
function slackSignature(secret: string, timestamp: string, body: string): string {
  return `v0=${createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("hex")}`;
}

/** Compares in constant time. Returns false for a time more than five minutes from `now_us`. */
export function isSignedBySlack(
  secret: string,
  { timestamp, signature, body }: { readonly timestamp: string; readonly signature: string; readonly body: string },
  now_us: number,
): boolean {
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  const apart_seconds = Math.abs(Math.floor(now_us / us_per_second) - Number(timestamp));
  const expected = Buffer.from(slackSignature(secret, timestamp, body));
  const given = Buffer.from(signature);
  const is_same = given.length === expected.length && timingSafeEqual(given, expected);
  return is_same && apart_seconds <= limits.slack_signature_seconds_max;
}
