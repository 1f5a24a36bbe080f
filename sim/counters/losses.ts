/** Commit sessions whose connection is lost at drawn statements, so that the writer does not know the outcome. */
import type { ConnectCommit } from "../../packages/server/src/store/commit/commit-writer.ts";

/** `lost_before`: the server never gets the calls. `lost_some`: every second answer is lost. */
export type Fate = "run" | "lost_before" | "lost_after" | "lost_some";

const lost = () => new Error("Connection terminated unexpectedly");

/** `fates`: of the next statements, first to last. Further statements run. */
export function losingConnections(connect: ConnectCommit, fates: Fate[]): ConnectCommit {
  return async () => {
    const session = await connect();
    return {
      close: session.close,
      async commit(calls) {
        const fate = fates.shift() ?? "run";
        if (fate === "run") return session.commit(calls);
        if (fate === "lost_before") throw lost();
        const settled = await session.commit(calls);
        if (fate === "lost_after") throw lost();
        return settled.map((each, n) => (n % 2 === 0 ? each : { status: "rejected", reason: lost() }));
      },
    };
  };
}
