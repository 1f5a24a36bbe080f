import { setPriority } from "node:os";

const behind = 5;

/** Live traffic goes first: puts the calling thread behind the others. Only Linux can; elsewhere it would be the whole process. */
export function standBack(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, behind);
  } catch {
    // Not allowed here: it runs as it is.
  }
}
