import { CommitLost, isUnanswered } from "../store/connection.ts";

/**
 * Makes a read once more whose session was lost with its commit: how a commit of nothing ended does not matter, and hundreds of
 * requests may share the read. Not where the commit got no answer: it was waited for as long as anybody waits.
 */
export async function readAgain<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof CommitLost && !isUnanswered(error.cause)) return read();
    throw error;
  }
}
