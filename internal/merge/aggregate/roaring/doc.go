// Package roaring unites roaring bitmaps in the forms in which Java stores them: of
// 32-bit numbers in the portable format (RoaringBitmap), of 64-bit numbers as the
// radix tree of 48-bit keys and the containers of Roaring64Bitmap. The bytes of a
// union are those that RoaringBitmap 1.2.1 writes after runOptimize.
//
// Floor F3. Aggregate functions rbm32 and rbm64 are made of it.
package roaring
