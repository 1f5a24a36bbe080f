/** A database's schema as text for a golden file, the same on every PostgreSQL from 15 on. */
import type { Query } from "../../ports.ts";

const relations = `
  select c.oid::regclass::text as name, c.relrowsecurity as rls, c.relforcerowsecurity as forced, c.reloptions as options
  from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm') order by 1`;

const columns = `
  select a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required, pg_get_expr(d.adbin, d.adrelid) as fallback,
    nullif(a.attstattarget, -1) as statistics
  from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`;

interface Column {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly fallback: string | null;
  /** Null: the server's default. */
  readonly statistics: number | null;
}

// PostgreSQL 18 stores NOT NULL as contype 'n'; the columns already show it.
const constraints = `
  select conname::text as name, pg_get_constraintdef(oid) as definition from pg_constraint
  where conrelid = $1::regclass and contype <> 'n' order by 1`;

const indexes = `
  select indexdef as definition from pg_indexes
  where schemaname = 'public' and tablename = $1 and indexname not in (select conname from pg_constraint) order by 1`;

const policies = `
  select policyname::text as name, cmd, qual, with_check from pg_policies where schemaname = 'public' and tablename = $1 order by 1`;

const others = `
  select 'sequence ' || c.oid::regclass as line from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'S'
  union all select 'function ' || p.oid::regprocedure from pg_proc p where p.pronamespace = 'public'::regnamespace
  union all select 'type ' || c.oid::regclass || ' (' || (
    select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum) from pg_attribute
    where attrelid = c.oid and attnum > 0 and not attisdropped) || ')'
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind = 'c'
  union all select 'trigger ' || t.tgname || ' on ' || t.tgrelid::regclass from pg_trigger t where not t.tgisinternal
  order by 1`;

/** One paragraph for each table: columns in order, constraints, indexes, policies. */
export async function schemaText(query: Query): Promise<string> {
  const paragraphs: string[] = [];
  for (const { name, rls, forced, options } of await query<{
    name: string;
    rls: boolean;
    forced: boolean;
    options: string[] | null;
  }>(relations)) {
    const security = rls ? ` row level security${forced ? " forced" : ""}` : "";
    const lines = [`table ${name}${security}${options === null ? "" : ` with (${options.join(", ")})`}`];
    for (const c of await query<Column>(columns, [name])) {
      const rest = [
        c.required ? " not null" : "",
        c.fallback === null ? "" : ` default ${c.fallback}`,
        c.statistics === null ? "" : ` statistics ${c.statistics}`,
      ];
      lines.push(`  ${c.name} ${c.type}${rest.join("")}`);
    }
    for (const c of await query<{ name: string; definition: string }>(constraints, [name]))
      lines.push(`  constraint ${c.name} ${c.definition}`);
    for (const i of await query<{ definition: string }>(indexes, [name])) lines.push(`  ${i.definition}`);
    for (const p of await query<{ name: string; cmd: string; qual: string; with_check: string | null }>(policies, [
      name,
    ])) {
      lines.push(
        `  policy ${p.name} for ${p.cmd} using ${p.qual}${p.with_check === null ? "" : ` check ${p.with_check}`}`,
      );
    }
    paragraphs.push(lines.join("\n"));
  }
  const rest = await query<{ line: string }>(others);
  if (rest.length > 0) paragraphs.push(rest.map(({ line }) => line).join("\n"));
  return `${paragraphs.join("\n\n")}\n`;
}
