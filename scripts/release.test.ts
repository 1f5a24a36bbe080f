import { expect, it } from "vitest";
import { closeChangelog } from "./release.ts";

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
