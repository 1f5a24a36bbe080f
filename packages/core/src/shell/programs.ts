/** Which arguments of well-known programs are files that they read, write or delete, and which options take a value. */

export interface FileArgs {
  readonly valued: ReadonlySet<string>;
  /**
   * Which arguments without options are written. `all`: each; `last`: the last one (and the others are read); `rest`: all but
   * the first; `none`: no file.
   */
  readonly writes?: "all" | "last" | "rest";
  readonly deletes?: "all" | "sources";
  readonly reads?: "none" | "rest";
  /** Options whose value is read. */
  readonly inputs?: readonly string[];
  /** Options whose value is written. */
  readonly outputs?: readonly string[];
  /** The arguments are written only with one of these options. */
  readonly writes_if?: readonly string[];
}

const options = (words: string): ReadonlySet<string> => new Set(words.split(" ").filter((word) => word !== ""));
const file = (valued: string, more: Omit<FileArgs, "valued"> = {}): FileArgs => ({ valued: options(valued), ...more });
const each = (words: string, args: FileArgs): readonly [string, FileArgs][] =>
  words.split(" ").map((word) => [word, args]);

/** For other programs, arguments that look like paths count as read. */
export const fileArgs: ReadonlyMap<string, FileArgs> = new Map([
  ...each("rm rmdir unlink trash rimraf", file("", { deletes: "all", reads: "none" })),
  ["shred", file("-n -s --iterations --size", { deletes: "all", reads: "none" })],
  ["cp", file("-t -S --target-directory --suffix", { writes: "last", outputs: ["-t", "--target-directory"] })],
  ["install", file("-t -m -o -g --target-directory --mode", { writes: "last", outputs: ["-t", "--target-directory"] })],
  [
    "mv",
    file("-t -S --target-directory", { writes: "last", deletes: "sources", outputs: ["-t", "--target-directory"] }),
  ],
  ["ln", file("-t -S", { writes: "last", outputs: ["-t"] })],
  ["rename", file("", { writes: "rest" })],
  ["touch", file("-d -r -t --date --reference", { writes: "all", reads: "none" })],
  ["mkdir", file("-m --mode", { writes: "all", reads: "none" })],
  ...each("mkfifo mknod sponge", file("-m", { writes: "all", reads: "none" })),
  ["tee", file("", { writes: "all", reads: "none" })],
  ["truncate", file("-s -r --size --reference", { writes: "all", reads: "none" })],
  ...each("chmod chown chgrp setfacl chattr", file("--reference -m -x", { writes: "rest", reads: "none" })),
  ["sed", file("-e -f -E --expression --file", { reads: "rest", writes_if: ["-i", "--in-place"] })],
  ["perl", file("-e -E -I -M", { reads: "none", writes_if: ["-i"] })],
  ["tar", file("-f -C -T -X --file --directory --exclude", { outputs: ["-C", "--directory"] })],
  ["unzip", file("-d -x -P", { outputs: ["-d"] })],
  ["sort", file("-o -k -t -S -T", { outputs: ["-o", "--output"] })],
  ...each("zip 7z", file("-x -i", { writes: "all" })),
  ["patch", file("-d -i -o -p --directory --input --output", { outputs: ["-d", "-o", "--directory", "--output"] })],
  [
    "openssl",
    file("-in -out -inkey -passin -passout -key", {
      reads: "none",
      inputs: ["-in", "-inkey", "-key"],
      outputs: ["-out"],
    }),
  ],
  ["ssh-keygen", file("-t -f -b -N -C", { reads: "none", outputs: ["-f"] })],
  ["defaults", file("", { reads: "none" })],
  ...each(
    "echo printf ls test [ [[ stat which type kill pkill killall sleep true false : basename",
    file("", { reads: "none" }),
  ),
  ...each(
    "dirname realpath readlink pwd date whoami id uname hostname seq exit return shift set",
    file("", { reads: "none" }),
  ),
  ...each("du df ps top lsof wait jobs tput clear history break continue tree", file("", { reads: "none" })),
  ...each("make cmake", file("-C -f -j -I -D -S -B", { reads: "none" })),
  ...each(
    "grep egrep fgrep rg ag ack",
    file("-e -f -A -B -C -m -g -t -T -d -r --include --exclude --exclude-dir --glob --type --regexp", {
      reads: "rest",
    }),
  ),
  ...each("awk gawk mawk jq yq", file("-F -v -f --arg --argjson --slurpfile", { reads: "rest" })),
  ["find", file("", { reads: "none" })],
  ...each("cat less more bat nl tac wc uniq diff cmp file strings view open", file("-n")),
  ...each("head tail cut xxd od hexdump base64 base32 gzip gunzip zcat", file("-n -c -d -f -w -l -s -i")),
]);

/** Options before the subcommand. `runs` names the subcommand first. */
export const leadingOptions: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["git", options("-C -c --git-dir --work-tree --namespace --exec-path --config-env")],
  ...["docker", "podman", "nerdctl"].map((name): [string, ReadonlySet<string>] => [
    name,
    options("-H --host -c --context --config -l --log-level"),
  ]),
  ...["kubectl", "helm", "oc", "k"].map((name): [string, ReadonlySet<string>] => [
    name,
    options("-n --namespace --context --kubeconfig --cluster --user -s --server --as --token --kube-context -l -v"),
  ]),
  ...["npm", "pnpm", "yarn", "bun"].map((name): [string, ReadonlySet<string>] => [
    name,
    options("--prefix -C --dir --filter -F -w --workspace --cwd --registry --loglevel"),
  ]),
  ["aws", options("--profile --region --output --endpoint-url --query --cli-read-timeout --color")],
  ["gcloud", options("--project --account --configuration --format --verbosity --billing-project")],
  ["az", options("--subscription -o --output --query")],
  ["gh", options("-R --repo --hostname")],
  ["glab", options("-R --repo")],
  ["terraform", options("")],
  ["tofu", options("")],
  ["cargo", options("--config -C -Z --color")],
  ["go", options("-C")],
  ["systemctl", options("-H --host -M --machine")],
  ["heroku", options("-a --app -r --remote")],
  ["fly", options("-a --app -c --config -t --access-token")],
  ["flyctl", options("-a --app -c --config -t --access-token")],
  ["wrangler", options("-c --config -e --env")],
  ["vercel", options("-t --token -S --scope --cwd")],
  ["pulumi", options("-s --stack -C --cwd")],
  ["uv", options("--directory --project --config-file --cache-dir")],
  ["redis-cli", options("-h -p -a -n -u --user --pass")],
]);

/** Programs whose arguments are texts, in which an address is no connection. */
export const textPrograms: ReadonlySet<string> = options(
  "echo printf grep egrep fgrep rg ag ack sed awk gawk mawk jq yq test [ cat head tail wc sort uniq tr cut ls true false : export",
);
