import { describe, expect, test } from "vitest";
import type { CommitConnection } from "../packages/server/src/store/commit/commit-writer.ts";
import { keepConnections } from "./kept-connections.ts";

/** Counts connections. `broken` ones fail at every commit. */
function connections() {
  const state = { opened: 0, closed: 0, broken: false };
  const kept = keepConnections(async (): Promise<CommitConnection> => {
    state.opened += 1;
    return {
      commit: async () => {
        if (state.broken) throw new Error("lost");
        return [];
      },
      close() {
        state.closed += 1;
      },
    };
  });
  return { state, kept };
}
const order = {} as Parameters<CommitConnection["commit"]>[0];

describe("a connection that a world closes", () => {
  test("goes to one later world only, however often it is closed", async () => {
    const { state, kept } = connections();
    const first = await kept.connect();
    await first.commit(order);
    first.close();
    first.close();
    await Promise.all([kept.connect(), kept.connect()]);
    expect(state).toEqual({ opened: 2, closed: 0, broken: false });
  });

  test("is not reused after an error", async () => {
    const { state, kept } = connections();
    const first = await kept.connect();
    state.broken = true;
    await expect(first.commit(order)).rejects.toThrow("lost");
    first.close();
    await kept.connect();
    expect(state).toEqual({ opened: 2, closed: 1, broken: true });
  });
});
