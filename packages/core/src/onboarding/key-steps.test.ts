import { expect, test } from "vitest";
import { keySteps } from "./key-steps.ts";

const key = (key_id: string, ...warnings: ("unbound" | "admin_submits" | "expires_soon")[]) => ({
  ...{ key_id, warnings },
  expires_at: "2026-01-01T00:00:00.000000Z",
});

test("each kind of warning is one step that names its keys and says what to do", () => {
  const steps = keySteps([key("key_1", "unbound", "expires_soon"), key("key_2", "admin_submits"), key("key_3")]);
  expect(steps).toHaveLength(3);
  expect(steps[0]).toMatch(/key_1\..*PATCH \/v1\/api-keys/);
  expect(steps[1]).toMatch(/key_2\..*POST \/v1\/api-keys/);
  expect(steps[2]).toMatch(/key_1\..*rotate/);
  expect(steps.join(" ")).not.toContain("key_3");
  expect(keySteps([key("key_3")])).toEqual([]);
});

test("twenty keys fit into a step", () => {
  const keys = Array.from({ length: 20 }, (_, at) =>
    key(`key_01K00000000000000000000${100 + at}`, "unbound", "admin_submits"),
  );
  for (const step of keySteps(keys)) expect(step.length).toBeLessThanOrEqual(1_000);
});
