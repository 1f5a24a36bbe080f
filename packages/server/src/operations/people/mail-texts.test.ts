import { expect, test } from "vitest";
import { invitationMail } from "./mail-texts.ts";

test.each([
  ["as long as a mail has room for", "x".repeat(80), "x".repeat(80)],
  ["one longer", "x".repeat(81), `${"x".repeat(80)}…`],
  ["with a character across the end", `${"x".repeat(79)}😀y`, `${"x".repeat(79)}…`],
  ["that would go on in a line of its own", "Org\nBcc: someone", "Org Bcc: someone"],
])("a name %s stands in a mail in one line and in whole characters", (_what, org_name, stands) => {
  const { subject, text } = invitationMail("https://c.example", {
    to: "a@b.example",
    org_name,
    role: "viewer",
    token: "t",
  });
  expect(subject).toBe(`Join ${stands} on Countersign`);
  expect(text).toContain(`You are invited to “${stands}” as viewer.`);
});
