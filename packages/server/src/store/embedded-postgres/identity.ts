/** Who the server runs as, and what that user can reach. */
import { lstat, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** The user and group a server process is given. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** "nobody" on Linux and macOS images alike is 65534 or -2; the number needs no entry in the user table. */
const unprivileged: Identity = { uid: 65_534, gid: 65_534 };

/**
 * Null when the server may run as we do; otherwise whom to run it as, because PostgreSQL refuses root: the owner of the
 * existing cluster (made by an ordinary user before, say), else 65534.
 */
export async function serverIdentity(cluster_dir: string): Promise<Identity | null> {
  if (process.getuid?.() !== 0) return null;
  const existing = await stat(cluster_dir).catch(() => null);
  return existing === null || existing.uid === 0 ? unprivileged : { uid: existing.uid, gid: existing.gid };
}

/** Whether this user may read the file, or enter and list the directory, through every directory above it. */
export async function canReach(path: string, identity: Identity | null): Promise<boolean> {
  const uid = identity?.uid ?? process.getuid?.() ?? 0;
  const gid = identity?.gid ?? process.getgid?.() ?? 0;
  if (uid === 0) return true;
  const allows = async (at: string, want: number): Promise<boolean> => {
    const found = await stat(at).catch(() => null);
    if (found === null) return false;
    const shift = found.uid === uid ? 6 : found.gid === gid ? 3 : 0;
    return ((found.mode >> shift) & want) === want;
  };
  if (!(await allows(path, (await stat(path).catch(() => null))?.isDirectory() ? 0o5 : 0o4))) return false;
  for (let at = dirname(path); ; at = dirname(at)) {
    if (!(await allows(at, 0o1))) return false;
    if (at === dirname(at)) return true;
  }
}

/** Whether a directory is a real one, belongs to this user and nobody else can write to it. */
export async function isPrivateOf(path: string, uid: number): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() === true && found.uid === uid && (found.mode & 0o022) === 0;
}
