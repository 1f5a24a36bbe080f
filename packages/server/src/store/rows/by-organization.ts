/** Groups rows for statements about one organization each. Keeps the order. */
export function byOrganization<Row extends { readonly org_id: string }>(
  rows: readonly Row[],
): ReadonlyMap<string, readonly Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.org_id);
    if (group === undefined) groups.set(row.org_id, [row]);
    else group.push(row);
  }
  return groups;
}
