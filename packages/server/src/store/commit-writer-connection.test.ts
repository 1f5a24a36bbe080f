import { describe, expect, it } from "vitest";
import { shareFlush } from "./commit-writer-connection.ts";

describe("the barrier", () => {
  it("answers nobody by a flush that began before the call, and all that came during it by the next one", async () => {
    const flushes: (() => void)[] = [];
    const durable = shareFlush(() => new Promise<void>((resolve) => flushes.push(resolve)));
    const answered: string[] = [];
    const call = (name: string) => durable().then(() => answered.push(name));
    const first = call("first");
    await expect.poll(() => flushes.length).toBe(1);
    const others = Promise.all([call("second"), call("third")]);
    flushes[0]?.();
    await first;
    expect(answered).toEqual(["first"]);
    await expect.poll(() => flushes.length).toBe(2);
    flushes[1]?.();
    await others;
    expect([answered, flushes.length]).toEqual([["first", "second", "third"], 2]);
  });

  it("a flush that fails is nobody's refusal: whoever waits does not know the outcome, and the next flush is a new one", async () => {
    let n = 0;
    const refusal = Object.assign(new Error("division by zero"), { code: "22012", severity: "ERROR" });
    const durable = shareFlush(() => (++n === 1 ? Promise.reject(refusal) : Promise.resolve()));
    const failed = await durable().catch((error: unknown) => error);
    expect(failed).toMatchObject({ message: "the log could not be flushed", cause: refusal });
    expect(failed).not.toHaveProperty("code");
    await durable();
    expect(n).toBe(2);
  });
});
