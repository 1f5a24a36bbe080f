import { setPriority } from "node:os";

const behind = 5;

/**
 * Lowers the priority of the calling thread, so that live traffic goes first. Only on Linux, because elsewhere the call
 * would affect the whole process.
 */
export function standBack(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, behind);
  } catch {
    // Without the permission the thread keeps its priority.
  }
}
