import { lstat, stat } from "node:fs/promises";
import { dirname } from "node:path";

export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

/** "nobody" has number 65534 or -2, and needs no entry in the user table. */
const unprivileged: Identity = { uid: 65_534, gid: 65_534 };

/** PostgreSQL refuses root, so the server runs as the cluster's owner or 65534. Null: this process is not root. */
export async function serverIdentity(cluster_dir: string): Promise<Identity | null> {
  if (process.getuid?.() !== 0) return null;
  const existing = await stat(cluster_dir).catch(() => null);
  return existing === null || existing.uid === 0 ? unprivileged : { uid: existing.uid, gid: existing.gid };
}

/** Returns true if the user may read the file, or list the directory, through all parents. */
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

/** Returns true if the directory belongs to this user and no other user can write to it. */
export async function isPrivateOf(path: string, uid: number): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() === true && found.uid === uid && (found.mode & 0o022) === 0;
}
