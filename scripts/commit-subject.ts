/** `npx tsx scripts/commit-subject.ts FILE` refuses a bad commit subject. The commit-msg hook calls it. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const characters_max = 65;

export function subjectProblem(message: string): string | null {
  const [subject = "", second = ""] = message.split("\n").filter((line) => !line.startsWith("#"));
  if (/^(?:Merge|Revert|fixup!|squash!) /.test(subject)) return null;
  if (subject.trim() === "") return "The subject is empty.";
  if (subject.length > characters_max)
    return `The subject has ${subject.length} characters; at most ${characters_max} are allowed. Put the reason into the body.`;
  if (/\.$/.test(subject)) return "The subject ends with a full stop. Remove it.";
  if (!/^\p{Lu}/u.test(subject))
    return 'Start the subject with a capital letter and a verb, for example "Refuse empty names".';
  if (second.trim() !== "") return "Leave the line after the subject empty.";
  return null;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problem = subjectProblem(readFileSync(process.argv[2] as string, "utf8"));
  if (problem !== null) console.error(problem);
  process.exitCode = problem === null ? 0 : 1;
}
