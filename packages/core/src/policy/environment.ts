import {
  anyOf,
  BOOL,
  DOUBLE,
  DYN,
  type Environment,
  environment,
  type Field,
  listOf,
  mapOf,
  objectOf,
  STRING,
  TIMESTAMP,
  type Type,
} from "@countersign/cel";
import { type FactField, factCategories, factCategoryNames } from "@countersign/contract";
import { distinctFunction } from "../counters/distinct.ts";
import { domainFunctions } from "../functions/index.ts";

const maybe = (type: Type): Field => ({ type, optional: true, nullable: true });
const anyObject = mapOf(STRING, DYN);

const factTypes: Readonly<Record<FactField["types"][number], Type>> = {
  string: STRING,
  // CEL promotes integer literals to JSON's only number type.
  number: DOUBLE,
  integer: DOUBLE,
  boolean: BOOL,
  object: anyObject,
  array: listOf(DYN),
};

function typeOf(field: FactField): Type {
  const types = field.types.map((type) => factTypes[type]);
  return types.length === 1 ? (types[0] as Type) : anyOf(types);
}

function categoryType(name: (typeof factCategoryNames)[number]): Type {
  const fields: readonly FactField[] = factCategories[name].fields;
  const known = Object.fromEntries(fields.map((field) => [field.name, maybe(typeOf(field))]));
  return objectOf(known, { open: true, name: `facts.${name}` });
}

const variables: Readonly<Record<string, Type>> = {
  intent: anyObject,
  agent: objectOf(
    {
      ...{ id: STRING, framework: maybe(STRING), session_id: maybe(STRING), on_behalf_of: maybe(STRING) },
      ...{ parent: maybe(STRING), ancestors: maybe(listOf(STRING)) },
    },
    { name: "agent" },
  ),
  action: objectOf({ type: STRING, verb: STRING, target: maybe(anyObject) }, { name: "action" }),
  target: objectOf({ type: maybe(STRING), identifier: maybe(STRING), sensitivity: maybe(STRING) }, { name: "target" }),
  params: anyObject,
  impact: objectOf(
    {
      reversible: maybe(BOOL),
      financial_exposure_usd: maybe(DOUBLE),
      audience_size: maybe(DOUBLE),
      regulatory_domains: maybe(listOf(STRING)),
    },
    { name: "impact" },
  ),
  data_classes: listOf(STRING),
  facts: objectOf(Object.fromEntries(factCategoryNames.map((name) => [name, categoryType(name)])), { name: "facts" }),
  mode: STRING,
  count: mapOf(
    STRING,
    objectOf(
      { n: maybe(DOUBLE), sum: maybe(DOUBLE), since: TIMESTAMP, distinct: mapOf(STRING, DOUBLE) },
      { name: "count" },
    ),
  ),
  after: mapOf(STRING, objectOf({ id: STRING, at: TIMESTAMP }, { name: "after" })),
};

/** The names that expressions read, besides `vars` and `now`. */
export const actionNames: readonly string[] = Object.keys(variables);

/** Excludes NaN, which would pass every limit. */
const language = { functions: [...domainFunctions, distinctFunction], finite_texts: true };

/** For policies without variables. Programs share one evaluation, also with `base`. */
export function plainEnvironment(base?: Environment): Environment {
  const declared = { ...variables, vars: objectOf({}, { name: "vars" }) };
  return environment({ ...language, variables: declared, ...(base === undefined ? {} : { base }) });
}

const plain = plainEnvironment();

/** Programs share one evaluation with `beside`. */
export function policyEnvironment(vars: Readonly<Record<string, Type>>, beside: Environment = plain): Environment {
  if (Object.keys(vars).length === 0) return beside;
  const declared = Object.fromEntries(Object.entries(vars).map(([name, type]) => [name, maybe(type)]));
  return environment({ variables: { ...variables, vars: objectOf(declared, { name: "vars" }) }, ...language, beside });
}
