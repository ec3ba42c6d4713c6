// Command tarn reads and writes Apache Paimon tables. Run "tarn help".
package main
