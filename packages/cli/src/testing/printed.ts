/** Collects a command's output, for tests that wait for a line of it. */
export function watched() {
  const texts = { stdout: "", stderr: "" };
  const watchers = new Set<() => void>();
  const take = (stream: "stdout" | "stderr") => (text: string) => {
    texts[stream] += text;
    for (const watcher of watchers) watcher();
  };
  return {
    stdout: take("stdout"),
    stderr: take("stderr"),
    printed: () => ({ ...texts }),
    /** Resolves with the first match in either stream; rejects if the command ends without one. */
    match(pattern: RegExp, finished: Promise<unknown>): Promise<RegExpExecArray> {
      return new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(texts.stdout) ?? pattern.exec(texts.stderr);
          if (match === null) return;
          watchers.delete(look);
          resolve(match);
        };
        watchers.add(look);
        const ended = () => reject(new Error(`ended without ${pattern}:\n${texts.stdout}${texts.stderr}`));
        void finished.then(ended, reject);
        look();
      });
    },
  };
}
