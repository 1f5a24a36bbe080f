/** How the console is built: hashed files, nothing inline, libraries that only some pages need in chunks of their own. */
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Whatever the caller runs as: a console is built for use, with the small variant of React.
process.env["NODE_ENV"] = "production";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  plugins: [react()],
  resolve: { conditions: ["@countersign/source", "module", "browser", "import", "default"] },
  build: {
    target: "es2023",
    cssTarget: "esnext",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: "manifest.json",
    // The libraries change seldom and the pages often: what a browser has kept stays of use.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "editor", test: /node_modules\/(?:@codemirror|@lezer|style-mod|w3c-keyname|crelt|@marijn|yaml)\// },
            { name: "react", test: /node_modules\/(?:react|react-dom|scheduler|@tanstack)\// },
          ],
        },
      },
    },
  },
});
