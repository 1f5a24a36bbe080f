/**
 * Reuses the commit writer's connections between worlds, because warming up a new session costs more than a world's
 * other statements.
 */
import type { CommitConnection, ConnectCommit } from "../packages/server/src/store/commit/commit-writer.ts";

export interface KeptConnections {
  readonly connect: ConnectCommit;
  /** Ends connections that no world holds. */
  end(): void;
}

/** Passes a closed connection to one later world, unless an error occurred on it. */
export function keepConnections(connect: ConnectCommit): KeptConnections {
  const free: CommitConnection[] = [];

  function lend(connection: CommitConnection): CommitConnection {
    let ended = false;
    let failed = false;
    async function watched<T>(work: Promise<T>): Promise<T> {
      try {
        return await work;
      } catch (error) {
        failed = true;
        throw error;
      }
    }
    return {
      async commit(calls) {
        const settled = await watched(connection.commit(calls));
        failed ||= settled.some(({ status }) => status === "rejected");
        return settled;
      },
      close() {
        if (ended) return;
        ended = true;
        if (failed) connection.close();
        else free.push(connection);
      },
    };
  }

  return {
    connect: async () => lend(free.pop() ?? (await connect())),
    end() {
      for (const connection of free.splice(0)) connection.close();
    },
  };
}
