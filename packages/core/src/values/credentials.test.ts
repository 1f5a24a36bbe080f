import { expect, test } from "vitest";
import { credentialSpans, isCredentialName } from "./credentials.ts";

const credentials = (text: string) => credentialSpans(text).map(({ start, end }) => text.slice(start, end));

const many = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

test.each([
  ["a GitHub token in a command", `git clone https://x:ghp_${many}@github.com`, `ghp_${many}`],
  ["a key of OpenAI", `use sk-proj-${many} now`, `sk-proj-${many}`],
  ["a key of Slack", "xoxb-123456789012-abcdef", "xoxb-123456789012-abcdef"],
  ["a key id of AWS", "id AKIAIOSFODNN7EXAMPLE.", "AKIAIOSFODNN7EXAMPLE"],
  ["a key of Stripe", `sk_live_${many}`, `sk_live_${many}`],
  ["a key of this service", `svc_live_org_${many}`, `svc_live_org_${many}`],
  [
    "a JWT",
    "t: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN",
  ],
  ["a bearer token", "curl -H 'Authorization: Bearer abcdef'", "abcdef"],
  ["basic credentials", "Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"],
  ["a bearer token without its header", `Bearer ${many}`, many],
  ["the password of an address", "postgres://app:hunter2@db.example/x", "hunter2"],
  ["a parameter of an address", "https://x.example/?access_token=abcd1234&a=1", "abcd1234"],
  ["a variable of the environment", "DB_PASSWORD='hunter2' ./run", "hunter2"],
  ["a member of JSON in a text", '{"apiKey": "hunter2 is it"}', "hunter2 is it"],
])("%s is found", (_, text, credential) => {
  expect(credentials(text)).toEqual([credential]);
});

test("a private key is found with its lines, also without its end", () => {
  const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----";
  expect(credentials(`key:\n${key}\n`)).toEqual([key]);
  const sealed = key.replace("MIIE", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,AB\n\nMIIE");
  expect(credentials(`${sealed}"; echo ${key}`)).toEqual([sealed, key]);
  expect(credentials(`${key.slice(0, 40)}'; rm -rf /`)).toEqual([key.slice(0, 40)]);
  expect(credentials(key.slice(0, 40))).toEqual([key.slice(0, 40)]);
});

test.each([
  "The bearer of this letter is internationally known. Basic internationalization.",
  "password: see the handbook, token is missing",
  "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
  "https://user@example.com:8080/a:b@c mailto:ann@example.com 12:30 at the desk",
  "page_token=abcdefgh max_tokens=4096 sort=token",
  "sk-a-name-of-words-with-dashes pypi-publish-workflow-name",
  "task-force risk-1234567890123456789012 eyJ is short",
  "x".repeat(200),
])("prose and other values do not match: %s", (text) => {
  expect(credentials(text)).toEqual([]);
});

test.each([
  "password",
  "DB_PASSWORD",
  "clientSecret",
  "X-API-Key",
  "apikey",
  "accessToken",
  "private key",
  "Authorization",
  "credentials",
])("a member named %s holds a credential", (name) => {
  expect(isCredentialName(name)).toBe(true);
});

test.each([
  "max_tokens",
  "page_token",
  "nextPageToken",
  "secretary",
  "password_policy",
  "public_key",
  "idempotency_key",
  "key",
  "token_count",
])("a member named %s does not", (name) => {
  expect(isCredentialName(name)).toBe(false);
});

test("a long text without spaces does not take long", () => {
  const begun = performance.now();
  for (const unit of ["a", "a-", "a:", "bearer ", "eyJ", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----'", 'a="', "x://"])
    credentialSpans(unit.repeat(100_000));
  expect(performance.now() - begun).toBeLessThan(5_000);
});
