/** Groups rows, so that each statement after a read over all organizations is for one of them. Keeps the order of the rows. */
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
