/**
 * Proves that a statement works on rows of one organization, which a parameter names (decision 0031). Also finds
 * functions that a distributed database refuses.
 */
import { loadModule, parseSync } from "libpg-query";
import { Org, Scope } from "./scope.ts";

await loadModule();

/** By the place of their rows: with their organization, or copied everywhere. */
export interface Tables {
  /** `org_id` is the first column of the primary key. */
  readonly of_organizations: ReadonlySet<string>;
  readonly with_org_id: ReadonlySet<string>;
}

// biome-ignore lint/suspicious/noExplicitAny: the parser has hundreds of types for its parts, of which a few are read here
type Part = { readonly [name: string]: any };

/** Citus refuses these in changes and deletions. */
const volatile_functions = new Set(["clock_timestamp", "random", "gen_random_uuid", "nextval", "set_config"]);

/** Empty: the statement is correct. */
export function unnamedTables(text: string, tables: Tables): readonly string[] {
  return new Statement(tables).unnamed(text);
}

class Statement {
  readonly #tables: Tables;
  readonly #used: Org[] = [];
  readonly #parameters = new Map<number, Org>();
  #mixed = false;
  /** Copied everywhere and written to. */
  #copied: string | null = null;
  /** In a change or deletion. */
  #volatile: string | null = null;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  unnamed(text: string): readonly string[] {
    for (const { stmt } of parseSync(text).stmts ?? []) this.#query(stmt as Part, new Scope(null));
    const unnamed = this.#used.filter((org) => !org.root().is_parameter);
    const organizations = new Set(this.#used.map((org) => org.root()));
    if ((this.#mixed && this.#used.length > 0) || (unnamed.length === 0 && organizations.size > 1))
      return ["rows of two organizations"];
    if (this.#copied !== null && this.#used.length > 0)
      return [`${this.#copied}, which is copied everywhere and is written to beside rows of an organization`];
    if (this.#volatile !== null) return [`${this.#volatile}(), which Citus refuses where rows are changed or deleted`];
    return [...new Set(unnamed.map(({ what }) => what))];
  }

  /** By the column `org_id`, or the one at `place`. */
  #query(query: Part, outer: Scope, place: number | null = null): Org | null {
    const [kind, fields] = Object.entries(query)[0] as [string, Part];
    const scope = new Scope(outer);
    for (const { CommonTableExpr: cte } of fields["withClause"]?.ctes ?? []) {
      // A recursive one names itself.
      const org = new Org(cte.ctename);
      scope.ctes.set(cte.ctename, org);
      const rows = this.#query(cte.ctequery, scope);
      if (rows === null) scope.ctes.set(cte.ctename, null);
      else org.isSameAs(rows);
    }
    switch (kind) {
      case "SelectStmt":
        return this.#select(fields, scope, place);
      case "InsertStmt":
        return this.#insert(fields, scope);
      case "UpdateStmt":
      case "DeleteStmt":
        this.#write(fields["relation"].relname);
        this.#changes([fields["whereClause"], fields["targetList"]]);
        this.#from({ RangeVar: fields["relation"] }, scope);
        return this.#rows(fields, [...(fields["fromClause"] ?? []), ...(fields["usingClause"] ?? [])], scope, null);
      default:
        return null;
    }
  }

  #select(fields: Part, scope: Scope, place: number | null): Org | null {
    if (fields["larg"] === undefined) return this.#rows(fields, fields["fromClause"] ?? [], scope, place);
    const left = this.#query({ SelectStmt: fields["larg"] }, scope, place);
    const right = this.#query({ SelectStmt: fields["rarg"] }, scope, place);
    this.#equate(left, right);
    return left ?? right;
  }

  #insert(fields: Part, scope: Scope): Org | null {
    const names: string[] = (fields["cols"] ?? []).map(({ ResTarget }: Part) => ResTarget.name);
    // Without names the columns come in the table's order.
    const place = names.length === 0 ? 0 : names.indexOf("org_id");
    this.#write(fields["relation"].relname);
    const made = fields["selectStmt"] === undefined ? null : this.#query(fields["selectStmt"], scope, place);
    this.#from({ RangeVar: fields["relation"] }, scope);
    this.#equate(scope.organization(null), made);
    return this.#rows(fields, [], scope, null);
  }

  #rows(fields: Part, from: readonly Part[], scope: Scope, place: number | null): Org | null {
    for (const item of from) this.#from(item, scope);
    this.#conditions(fields["whereClause"], scope);
    const { withClause: _, fromClause: __, usingClause: ___, selectStmt: ____, ...expressions } = fields;
    this.#subqueries(expressions, scope);
    const values = (fields["valuesLists"] ?? []).map(({ List }: Part) =>
      this.#organizationOf(List.items[place ?? 0], scope),
    );
    for (const value of values) this.#equate(values[0], value);
    if (values.length > 0) return values[0];
    return this.#output(
      fields["returningClause"]?.exprs ?? fields["returningList"] ?? fields["targetList"] ?? [],
      scope,
      place,
    );
  }

  #output(targets: readonly Part[], scope: Scope, place: number | null): Org | null {
    const isNamed = ({ ResTarget }: Part) => {
      const column = ResTarget.val?.ColumnRef?.fields.at(-1);
      return column?.A_Star !== undefined || (ResTarget.name ?? column?.String?.sval) === "org_id";
    };
    const target = place === null ? targets.find(isNamed) : targets[place];
    return target === undefined ? null : this.#organizationOf(target["ResTarget"].val, scope);
  }

  #from(item: Part, scope: Scope): void {
    const { RangeVar, RangeSubselect, RangeFunction, JoinExpr } = item;
    if (JoinExpr !== undefined) this.#join(JoinExpr, scope);
    if (RangeVar !== undefined)
      scope.rows.set(RangeVar.alias?.aliasname ?? RangeVar.relname, this.#table(RangeVar.relname, scope));
    if (RangeSubselect !== undefined)
      scope.rows.set(RangeSubselect.alias?.aliasname ?? "", this.#query(RangeSubselect.subquery, scope));
    if (RangeFunction !== undefined) {
      const columns: string[] = (RangeFunction.alias?.colnames ?? []).map((name: Part) => name["String"].sval);
      const name = RangeFunction.alias?.aliasname ?? "";
      scope.rows.set(name, columns.includes("org_id") ? new Org(name) : null);
      this.#subqueries(RangeFunction.functions, scope);
    }
  }

  #table(name: string, scope: Scope): Org | null {
    const cte = scope.cte(name);
    if (cte !== undefined) return cte;
    const org = new Org(name);
    if (this.#tables.of_organizations.has(name)) this.#used.push(org);
    return this.#tables.with_org_id.has(name) ? org : null;
  }

  #join(join: Part, scope: Scope): void {
    this.#from(join["larg"], scope);
    const left = [...scope.rows.values()].findLast((org) => org !== null);
    this.#from(join["rarg"], scope);
    const right = [...scope.rows.values()].findLast((org) => org !== null);
    if (join["usingClause"]?.some((name: Part) => name["String"].sval === "org_id")) this.#equate(left, right);
    this.#conditions(join["quals"], scope);
    this.#subqueries(join["quals"], scope);
  }

  #conditions(condition: Part | undefined, scope: Scope): void {
    const { BoolExpr, A_Expr } = condition ?? {};
    if (BoolExpr?.boolop === "AND_EXPR") for (const each of BoolExpr.args) this.#conditions(each, scope);
    if (A_Expr?.kind !== "AEXPR_OP" || A_Expr.name[0].String.sval !== "=") return;
    const sides = [A_Expr.lexpr, A_Expr.rexpr].map((side: Part) => side["RowExpr"]?.args ?? [side]);
    sides[0].forEach((each: Part, at: number) => {
      const other = sides[1][at];
      if (other !== undefined) this.#equate(this.#organizationOf(each, scope), this.#organizationOf(other, scope));
    });
  }

  #write(table: string): void {
    if (!this.#tables.of_organizations.has(table)) this.#copied = table;
  }

  #changes(part: unknown): void {
    if (typeof part !== "object" || part === null) return;
    const name = (part as Part)["FuncCall"]?.funcname.at(-1).String.sval;
    if (volatile_functions.has(name)) this.#volatile = name;
    for (const value of Object.values(part)) this.#changes(value);
  }

  #equate(one: Org | null | undefined, other: Org | null | undefined): void {
    if (!one || !other || one.root() === other.root()) return;
    if (one.root().is_parameter && other.root().is_parameter) this.#mixed = true;
    else one.isSameAs(other);
  }

  #organizationOf(expression: Part | undefined, scope: Scope): Org | null {
    const { TypeCast, ParamRef, ColumnRef } = expression ?? {};
    if (TypeCast !== undefined) return this.#organizationOf(TypeCast.arg, scope);
    if (ParamRef !== undefined) {
      const { number } = ParamRef as { readonly number: number };
      const known = this.#parameters.get(number) ?? new Org(`$${number}`, true);
      this.#parameters.set(number, known);
      return known;
    }
    const [last, rows] = (ColumnRef?.fields ?? []).toReversed() as Part[];
    if (last?.["A_Star"] === undefined && last?.["String"]?.sval !== "org_id") return null;
    return scope.organization(rows?.["String"]?.sval ?? null);
  }

  #subqueries(part: unknown, scope: Scope): void {
    if (typeof part !== "object" || part === null) return;
    for (const [name, value] of Object.entries(part)) {
      if (name === "SelectStmt") this.#query({ SelectStmt: value }, scope);
      else this.#subqueries(value, scope);
    }
  }
}
