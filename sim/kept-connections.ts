/**
 * Connections of the commit writer that one world leaves to the next: the first statements of a new session, which has
 * neither the catalogue nor a plan, cost more than all others of a world.
 */
import type { CommitConnection, ConnectCommit } from "../packages/server/src/store/commit/commit-writer.ts";

/** Connections, and their end. */
export interface KeptConnections {
  readonly connect: ConnectCommit;
  /** Ends those that no world holds. */
  end(): void;
}

/** Hands on, once, what a world closes, unless anything failed on it: the next world would fail on a broken one forever. */
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
