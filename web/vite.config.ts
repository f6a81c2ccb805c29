import { defineConfig } from "vitest/config";

// One script and one style sheet: the live page, the TensorBoard tab and the one-file report all take these two.
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../torch_debugger/viewer/static",
    emptyOutDir: true,
    cssCodeSplit: false,
    lib: { entry: "src/main.tsx", formats: ["es"], fileName: () => "page.js", cssFileName: "page" },
    target: "es2022",
    minify: true,
  },
  define: { "process.env.NODE_ENV": '"production"' },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] },
});
