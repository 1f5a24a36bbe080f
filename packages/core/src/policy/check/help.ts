import type { DiagnosticCode } from "@countersign/cel";

export const helpOfCode: Readonly<Record<DiagnosticCode, string>> = {
  syntax: "Write the condition as a CEL expression, such as params.amount > 500.",
  limit: "Shorten it, or move parts of it to variables.",
  literal: 'Write numbers like 5 or 0.5, and texts between quotes, with \\" for a quote inside.',
  undeclared_name:
    "Expressions read intent, agent, action, target, params, impact, data_classes, facts, vars, mode and now.",
  undeclared_field: "Use one of its fields; everything else that an agent sends is in params.",
  undeclared_function: "Use a function of CEL or one of the domain functions, such as documented(x) or daysSince(x).",
  wrong_argument: "Pass arguments of the expected types; convert with string(x), double(x) or int(x).",
  wrong_operand: "Use one type on both sides; convert with string(x), double(x) or int(x).",
  wrong_result:
    "A condition is true or false: compare it with something. A risk or a bound is a double: write 1.0, or double(x).",
  macro: "Write it like list.exists(x, x == 1) or has(params.amount).",
  pattern: "Write the pattern in RE2 syntax; it has no lookahead and no back-references.",
  unguarded: "Check with has() first, or let on_unknown decide.",
  constant: "Compare something that differs from action to action.",
};
