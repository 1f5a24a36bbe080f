/** Splits a database URL that lists several servers. */

/**
 * Returns one URL for each server of a database URL, in its order. Both forms of libpq are supported:
 * `postgres://a:5432,b:5433/db` and `?host=a,b&port=5432,5433`. A single port in the query is for all hosts. Null: a
 * host of the list is empty, or the number of ports does not fit the number of hosts.
 */
export function hostUrls(url: string): readonly string[] | null {
  const [, start, authority = "", path, query = ""] =
    /^([a-z]+:\/\/(?:[^/?#]*@)?)([^/?#]*)([^?]*)(?:\?(.*))?$/.exec(url) ?? [];
  const params = new URLSearchParams(query);
  const listed = params.get("host") || null;
  const hosts = (listed ?? authority).split(",");
  const ports = params.get("port")?.split(",") ?? [];
  if (hosts.length === 1 && ports.length <= 1) return [url];
  if (hosts.includes("") || (ports.length > 1 && ports.length !== hosts.length)) return null;
  return hosts.map((host, index) => {
    if (listed !== null) params.set("host", host);
    const port = ports[index] ?? ports[0];
    if (port !== undefined) params.set("port", port);
    const rest = params.size === 0 ? "" : `?${params}`;
    return `${start}${listed === null ? host : ""}${path}${rest}`;
  });
}
