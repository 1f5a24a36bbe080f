import { describe, expect, test } from "vitest";
import type { KnownPasskey } from "../../sign-in-ports.ts";
import { type Lies, softwareAuthenticator } from "../../testing/people/software-authenticator.ts";
import { createPasskeyChecks } from "./passkey-checks.ts";

const site = { origin: "https://countersign.example", host: "countersign.example" };
const person = { user_id: "usr_01JABCDEFGHJKMNPQRSTVWXYZ0", email: "ada@example.com" };
const checks = createPasskeyChecks();

async function register(lies: Lies = {}) {
  const authenticator = softwareAuthenticator(site.origin);
  const options = await checks.registrationOptions(site, person, "first challenge", []);
  const known = await checks.registered(site, "first challenge", authenticator.create(options, lies));
  return { authenticator, options, known };
}

describe("registering", () => {
  test("asks for a passkey that knows its user itself, and for no certificate of its maker", async () => {
    const { options } = await register();
    expect(options).toMatchObject({
      rp: { id: site.host, name: "Countersign" },
      user: { id: Buffer.from(person.user_id).toString("base64url"), name: person.email },
      challenge: Buffer.from("first challenge").toString("base64url"),
      attestation: "none",
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
    });
  });

  test("keeps the key, the count and the known transports", async () => {
    const { known } = await register();
    expect(known).toMatchObject({ counter: 1, transports: ["internal"] });
    expect(known?.passkey_id).toMatch(/^[\w-]{43}$/);
    expect(known?.public_key.length).toBeGreaterThan(60);
  });

  test("offers not to register a known passkey again", async () => {
    const { known } = await register();
    const options = await checks.registrationOptions(site, person, "again", [known as KnownPasskey]);
    expect(options["excludeCredentials"]).toEqual([
      { id: known?.passkey_id, transports: ["internal"], type: "public-key" },
    ]);
  });

  test.each<[string, Lies]>([
    ["of another page", { origin: "https://evil.example" }],
    ["of the same page without encryption", { origin: "http://countersign.example" }],
    ["of another challenge", { challenge: Buffer.from("another").toString("base64url") }],
    ["whose user was not verified", { user_verified: false }],
    ["of a page in a frame", { framed_by: "https://evil.example" }],
    ["with a longer name than there may be", { credential_id: Buffer.alloc(1_024, 7).toString("base64url") }],
    [
      "with a maker's certificate",
      { attestation: { fmt: "packed", statement: new Map([["x5c", [new Uint8Array(9)]]]) } },
    ],
    ["of a form with certificates only", { attestation: { fmt: "tpm", statement: new Map() } }],
  ])("refuses one %s", async (_, lies) => {
    expect((await register(lies)).known).toBeNull();
  });

  test.each([null, {}, [], "x", { id: "a", response: {} }, { response: { attestationObject: "!!" } }])(
    "refuses a value that is not a credential: %j",
    async (credential) => {
      expect(await checks.registered(site, "c", credential)).toBeNull();
    },
  );
});

describe("using", () => {
  test("returns the new count", async () => {
    const { authenticator, known } = await register();
    const options = await checks.loginOptions(site, "second challenge");
    expect(options).toMatchObject({ rpId: site.host, userVerification: "required" });
    expect(await checks.usedBy(site, "second challenge", authenticator.get(options), known as KnownPasskey)).toBe(2);
  });

  test.each<[string, Lies]>([
    ["of another page", { origin: "https://evil.example" }],
    ["of another challenge", { challenge: Buffer.from("another").toString("base64url") }],
    ["whose user was not verified", { user_verified: false }],
    ["of a page in a frame", { framed_by: "https://evil.example" }],
    ["of a page in a frame that the browser does not name", { framed_by: null }],
    ["whose count did not grow: a copy", { counter: 1 }],
  ])("refuses one %s", async (_, lies) => {
    const { authenticator, known } = await register();
    const options = await checks.loginOptions(site, "second challenge");
    const credential = authenticator.get(options, lies);
    expect(await checks.usedBy(site, "second challenge", credential, known as KnownPasskey)).toBeNull();
  });

  test("refuses another user's passkey and a value that is not a credential", async () => {
    const [mine, other] = [await register(), await register()];
    const credential = other.authenticator.get(await checks.loginOptions(site, "c"));
    const known = mine.known as KnownPasskey;
    expect(await checks.usedBy(site, "c", { ...credential, id: known.passkey_id }, known)).toBeNull();
    for (const junk of [null, {}, { response: { clientDataJSON: 1 } }])
      expect(await checks.usedBy(site, "c", junk, known)).toBeNull();
  });
});
