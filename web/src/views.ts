// The views are found, not listed: views/NAME/index.tsx exports `view`.
import type { ComponentType } from "preact";
import type { About } from "./answers";

export interface Shown {
  run: string;
  about: About;
  /** Changes when something was written: give it to useAnswer. */
  version: string;
  /** What is chosen in this view, from the address. */
  chosen: Record<string, string>;
}

export interface View {
  name: string;
  title: string;
  /** Order in the navigation. */
  place: number;
  /** Whether the navigation offers it; a view that is opened by its address always shows, with an honest empty state. */
  appears: (about: About) => boolean;
  Body: ComponentType<Shown>;
}

const found = import.meta.glob<{ view: View }>("./views/*/index.tsx", { eager: true });

export const VIEWS: View[] = Object.values(found)
  .map((module) => module.view)
  .sort((one, other) => one.place - other.place);
