import { DOUBLE, DYN, type HostFunction, STRING, unknown } from "@countersign/cel";

/** The number of distinct values of an expression that a counter has counted: `count.paid.distinct("params.to")`. */
export const distinctFunction: HostFunction = {
  name: "distinct",
  member: true,
  parameters: [DYN, STRING],
  result: DOUBLE,
  implementation: (_call, count: unknown, field: string) => {
    const values = (count as { distinct?: Readonly<Record<string, unknown>> } | null)?.distinct;
    if (values === undefined || !Object.hasOwn(values, field))
      return unknown(`distinct(${JSON.stringify(field)})`, "missing");
    return values[field];
  },
};
