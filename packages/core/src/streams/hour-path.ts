/** Returns `YYYY/MM/DD/HH`, the begin of the names of an hour's objects. `hour` is RFC 3339 in UTC. */
export function hourPath(hour: string): string {
  return `${hour.slice(0, 10).replaceAll("-", "/")}/${hour.slice(11, 13)}`;
}
