import { expect, it } from "vitest";
import { checksumLines, closeChangelog } from "./release.ts";

it("closes the unreleased section under the version and its date", () => {
  const changelog = "# Changelog\n\n## Unreleased\n\n- Refuse rounded integers.\n\n## 0.1.0 - 2026-11-01\n\n- First.\n";
  expect(closeChangelog(changelog, "0.2.0", "2026-12-01")).toEqual({
    notes: "- Refuse rounded integers.",
    text: "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n- Refuse rounded integers.\n\n## 0.1.0 - 2026-11-01\n\n- First.\n",
  });
});

it.each(["# Changelog\n", "# Changelog\n\n## Unreleased\n\n## 0.1.0 - 2026-11-01\n\n- First.\n"])(
  "refuses a changelog without a text for the release: %j",
  (changelog) => {
    expect(() => closeChangelog(changelog, "0.2.0", "2026-12-01")).toThrow("Write what changed");
  },
);

it("writes checksums that sha256sum can check, in the order of the names", () => {
  const files = [
    { name: "b.tgz", bytes: Buffer.from("b") },
    { name: "a.tgz", bytes: Buffer.from("") },
  ];
  expect(checksumLines(files)).toBe(
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.tgz\n" +
      "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b.tgz\n",
  );
});
