/** Checks the casing of module constants (CONTRIBUTING.md). */
import { type Expression, parseSync } from "oxc-parser";

interface ConstantFinding {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

const unit = /_(?:ms|us|seconds|days|bytes|usd)$/;

export function constantFindings(path: string, source: string): ConstantFinding[] {
  const findings: ConstantFinding[] = [];
  for (const statement of parseSync(path, source).program.body) {
    const declaration = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (declaration?.type !== "VariableDeclaration" || declaration.kind !== "const") continue;
    for (const { id, init, start } of declaration.declarations) {
      if (id.type !== "Identifier" || init === null) continue;
      const message = casingProblem(id.name, init);
      if (message === null) continue;
      findings.push({ path, line: source.slice(0, start).split("\n").length, rule: "casing", message });
    }
  }
  return findings;
}

function casingProblem(name: string, value: Expression): string | null {
  if (isNumberOrText(value)) {
    return /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/.test(name) ? null : `${name}: numbers and texts are snake_case`;
  }
  if (isCollection(value) && name.includes("_") && !unit.test(name)) {
    return /^[A-Z0-9_]+$/.test(name) ? null : `${name}: objects, lists, patterns and functions are camelCase`;
  }
  return null;
}

function isNumberOrText(value: Expression): boolean {
  if (value.type === "Literal") return ["number", "string", "bigint"].includes(typeof value.value);
  if (value.type === "UnaryExpression") return isNumberOrText(value.argument);
  return value.type === "TemplateLiteral";
}

function isCollection(value: Expression): boolean {
  if (value.type === "TSAsExpression" || value.type === "TSSatisfiesExpression") return isCollection(value.expression);
  if (value.type === "Literal") return "regex" in value;
  return ["ObjectExpression", "ArrayExpression", "ArrowFunctionExpression"].includes(value.type);
}
