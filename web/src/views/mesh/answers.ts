// What the question `meshes` answers.
export interface MeshTag {
  name: string;
  /** vertices, and faces and colors where they were logged. */
  parts: string[];
  all_steps: number;
  /** Evenly chosen where there are very many. */
  steps: number[];
}

export interface Meshes {
  meshes: MeshTag[];
  /** Tags of which nothing can be shown. */
  unknown: string[];
}

export interface Mesh {
  name: string;
  step: number;
  /** How many were logged as one batch. */
  samples: number;
  points: number;
  faces: number;
  vertices: string;
  triangles: string | null;
  colors: string | null;
  remarks: string[];
}
