import type { PolicyDocument } from "../document.ts";

/** Returns why a policy may not permit grants, or null. */
export function deadGrants({ effect, override, escalation }: PolicyDocument["spec"]) {
  if (escalation?.grants === undefined) return null;
  const help = "Remove escalation.grants, or change the rule.";
  if (effect !== "escalate") return { message: "Only a rule with the effect escalate can permit grants.", help };
  if (override === "never") return { message: "A rule with override: never cannot permit grants.", help };
  if ((escalation.quorum ?? 1) > 1)
    return {
      message: "A rule that needs several people cannot permit grants, because one person makes a grant.",
      help,
    };
  return null;
}
