/**
 * Connections of the commit writer that one world leaves to the next: the first statements of a new session, which has
 * neither the catalogue nor a plan, cost more than all others of a world.
 */
import type { CommitConnection, ConnectCommit } from "../packages/server/src/store/commit-writer.ts";

/** Connections, and their end. */
export interface KeptConnections {
  readonly connect: ConnectCommit;
  /** Ends those that no world holds. */
  end(): void;
}

/** For worlds that lose no connection: a broken one would be handed on, too. */
export function keepConnections(connect: ConnectCommit): KeptConnections {
  const free: CommitConnection[] = [];
  return {
    async connect() {
      const connection = free.pop() ?? (await connect());
      return { ...connection, close: () => void free.push(connection) };
    },
    end() {
      for (const connection of free.splice(0)) connection.close();
    },
  };
}
