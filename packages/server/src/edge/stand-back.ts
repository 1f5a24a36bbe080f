import { setPriority } from "node:os";

const behind = 5;

/** Lowers the thread's priority. Linux only, because elsewhere the call affects the process. */
export function standBack(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, behind);
  } catch {
    // Without the permission the priority stays.
  }
}
