import { expect, test } from "vitest";
import { isSameOrigin } from "./cookie.ts";

const https = "https://cs.example";
const local = "http://127.0.0.1:8080";

test.each<[boolean, string, string, string]>([
  [true, https, "cs.example", "https://cs.example"],
  [true, https, "10.0.0.5:8080", "https://cs.example"],
  [true, https, "other.example", "https://other.example"],
  [true, https, "127.0.0.1:8080", "http://127.0.0.1:8080"],
  [true, https, "cs.example", "https://cs.example/escalations"],
  [true, local, "127.0.0.1:8080", "http://127.0.0.1:8080"],
  [true, local, "localhost:8080", "http://localhost:8080"],
  [true, local, "[::1]:8080", "http://[::1]:8080"],
  [false, https, "cs.example", "http://cs.example"],
  [false, https, "cs.example", "https://cs.example:8443"],
  [false, https, "cs.example", "ftp://cs.example"],
  [false, https, "other.example", "http://other.example"],
  [false, https, "cs.example", "https://evil.example"],
  [false, https, "cs.example", "null"],
  [false, local, "127.0.0.1:8080", "https://127.0.0.1:8080"],
  [false, local, "127.0.0.1:8080", "ftp://127.0.0.1:8080"],
  [false, local, "localhost:8080", "https://localhost:8080"],
  [false, local, "127.0.0.1:8080", "http://127.0.0.1:9090"],
])("same origin is %s: public URL %s, Host %s, Origin %s", (same, public_url, host, origin) => {
  expect(isSameOrigin({ host, origin }, public_url)).toBe(same);
});

test("a write without its origin passes only without a cookie", () => {
  expect(isSameOrigin({}, local)).toBe(true);
  expect(isSameOrigin({ cookie: "a=b" }, local)).toBe(false);
  expect(isSameOrigin({ cookie: "a=b", host: "127.0.0.1:8080", referer: `${local}/people` }, local)).toBe(false);
  expect(isSameOrigin({ cookie: "a=b", "sec-fetch-site": "same-origin" }, local)).toBe(true);
});
