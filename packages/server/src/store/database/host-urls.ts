/**
 * Returns one URL for each server. Supports both forms of libpq: `postgres://a:5432,b:5433/db` and
 * `?host=a,b&port=5432,5433`. A single port is for all hosts. Null: a host is empty, or ports and hosts differ in
 * number.
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
