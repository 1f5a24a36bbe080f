/** Amounts have at most six decimals. */
export function numberText(value: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: 6 });
}

export function actionsText(count: number): string {
  return `${numberText(count)} ${count === 1 ? "action" : "actions"}`;
}

/** Writes what a grant adds: `500 and 3 actions`. */
export function grantText({
  amount,
  actions,
}: {
  readonly amount: number | null;
  readonly actions: number | null;
}): string {
  return [amount === null ? [] : numberText(amount), actions === null ? [] : actionsText(actions)].flat().join(" and ");
}
