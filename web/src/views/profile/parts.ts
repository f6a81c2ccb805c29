// The parts of a step as the server names them, in the order in which they count.
export interface StepPart {
  name: string;
  title: string;
  colour: string;
  rest?: boolean;
}

export const PARTS: readonly StepPart[] = [
  { name: "kernel", title: "kernels", colour: "--chart-1" },
  { name: "memcpy", title: "copies to and from the device", colour: "--chart-2" },
  { name: "memset", title: "filling memory of the device", colour: "--chart-3" },
  { name: "communication", title: "communication", colour: "--chart-4" },
  { name: "runtime", title: "calls of the device's runtime", colour: "--chart-5" },
  { name: "dataloader", title: "DataLoader", colour: "--chart-6" },
  { name: "cpu exec", title: "operators on the CPU", colour: "--chart-7" },
  { name: "other", title: "other (Python)", colour: "--chart-8", rest: true },
];
