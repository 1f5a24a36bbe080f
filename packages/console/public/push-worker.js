/* Shows push notices while no page of the console is open. Stores nothing and answers no requests of pages. */

self.addEventListener("push", (event) => {
  const { title, body, url } = event.data.json();
  event.waitUntil(self.registration.showNotification(title, { body, tag: url, icon: "/favicon.svg", data: { url } }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const target = new URL(event.notification.data.url, self.location.origin);
  // A notice opens pages of this console only.
  const url = `${self.location.origin}${target.pathname}`;
  event.waitUntil(openPage(url));
});

async function openPage(url) {
  const pages = await self.clients.matchAll({ type: "window" });
  const open = pages.find((page) => page.url === url);
  if (open !== undefined) return open.focus();
  return self.clients.openWindow(url);
}
