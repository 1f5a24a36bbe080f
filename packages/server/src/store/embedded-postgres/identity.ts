/** Chooses the user of the server, and checks what that user can reach. */
import { lstat, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** The user and group of a server process. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** The number of "nobody" is 65534 or -2 on Linux and macOS. It needs no entry in the user table. */
const unprivileged: Identity = { uid: 65_534, gid: 65_534 };

/**
 * Returns the user for the server, because PostgreSQL refuses root. Null: the server may run as the user of this
 * process. Otherwise the owner of the existing cluster (perhaps created by an ordinary user before), else 65534.
 */
export async function serverIdentity(cluster_dir: string): Promise<Identity | null> {
  if (process.getuid?.() !== 0) return null;
  const existing = await stat(cluster_dir).catch(() => null);
  return existing === null || existing.uid === 0 ? unprivileged : { uid: existing.uid, gid: existing.gid };
}

/** Returns true if this user may read the file, or enter and list the directory, through all directories above it. */
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

/** Returns true if the path is a real directory that belongs to this user and that no other user can write to. */
export async function isPrivateOf(path: string, uid: number): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() === true && found.uid === uid && (found.mode & 0o022) === 0;
}
