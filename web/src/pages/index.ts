/**
 * The dashboard's pages. To add one, add a line here and a folder beside it: navigation, shortcuts
 * and routes follow, and its code is loaded on the first visit.
 */
import {
  IconArrowsSplit2,
  IconChartLine,
  IconGauge,
  IconLayoutDashboard,
  IconServer2,
  IconSitemap,
} from "@tabler/icons-react";
import type { ComponentType } from "react";

export interface Page {
  readonly title: string;
  readonly href: string;
  /** The router's pattern; parameters come after `href`. */
  readonly path: string;
  readonly keys: string;
  readonly icon: ComponentType<{ size?: number; stroke?: number }>;
  readonly load: () => Promise<{ readonly Component: ComponentType }>;
}

export const pages: readonly Page[] = [
  {
    title: "Overview",
    href: "/",
    path: "/",
    keys: "g o",
    icon: IconLayoutDashboard,
    load: () => import("./overview/overview-page.tsx"),
  },
  {
    title: "Explore",
    href: "/explore",
    path: "/explore",
    keys: "g e",
    icon: IconChartLine,
    load: () => import("./explore/explore-page.tsx"),
  },
  {
    title: "Tables",
    href: "/tables",
    path: "/tables/:tableName?",
    keys: "g t",
    icon: IconSitemap,
    load: () => import("./tables/tables-page.tsx"),
  },
  {
    title: "Streams",
    href: "/streams",
    path: "/streams/*",
    keys: "g s",
    icon: IconArrowsSplit2,
    load: () => import("./streams/streams-page.tsx"),
  },
  {
    title: "Load tests",
    href: "/load",
    path: "/load/*",
    keys: "g l",
    icon: IconGauge,
    load: () => import("./load/load-page.tsx"),
  },
  {
    title: "Workers",
    href: "/workers",
    path: "/workers/:workerId?",
    keys: "g w",
    icon: IconServer2,
    load: () => import("./workers/workers-page.tsx"),
  },
];
